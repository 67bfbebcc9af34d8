"""Data that several problems are built on: tables of modular arithmetic, labelled points, files of images."""
