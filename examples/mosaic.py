"""Contact sheets of all pictures of the catalog, to be looked at: python examples/mosaic.py --out out/mosaic

Draws every entry (or those that are named) from the store and computes what is not there; with `--stored` an entry
whose runs are not there is left out. Sheets of six pictures are numbered in the catalog's order.
"""

import argparse
from pathlib import Path

from PIL import Image

from latebloom import catalog, figures
from latebloom.catalog.reproduction import file_name, gather
from latebloom.engine.storage import opened

PER_SHEET, COLUMNS, WIDTH = 6, 2, 1100


def drawn(entry, store, out, *, stored):
    """The entry's picture, drawn anew; None where its runs would have to be computed and may not be."""
    settings = entry.settings
    wanted = [job.configuration() for job in entry.jobs(settings).values()]
    wanted += [{"study": study.name, **study.configuration} for study in entry.study_list(settings)]
    if stored and any(store.find(configuration) is None for configuration in wanted):
        return None
    (evidence,), _ = gather(entry, [settings], store)
    return figures.save(entry.draw(evidence), out, file_name(entry, settings))[0]


def sheet(pictures, path):
    """Pictures of one width beside and below each other."""
    scaled = [image.resize((WIDTH, round(image.height * WIDTH / image.width))) for image in map(Image.open, pictures)]
    columns = [scaled[start::COLUMNS] for start in range(COLUMNS)]
    height = max(sum(image.height + 30 for image in column) for column in columns)
    page = Image.new("RGB", (COLUMNS * WIDTH, height), "white")
    for place, column in enumerate(columns):
        top = 0
        for image in column:
            page.paste(image, (place * WIDTH, top))
            top += image.height + 30
    page.save(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*", help="entries or papers; all by default")
    parser.add_argument("--store", help="where runs are kept; yours by default")
    parser.add_argument("--out", type=Path, default=Path("out/mosaic"))
    parser.add_argument("--stored", action="store_true", help="leave out what would have to be computed")
    options = parser.parse_args()
    store, pictures = opened(options.store), []
    for entry in catalog.select(options.ids):
        picture = drawn(entry, store, options.out, stored=options.stored)
        print(f"{entry.id}: {picture or 'not in the store'}", flush=True)
        pictures += [picture] if picture else []
    for number, start in enumerate(range(0, len(pictures), PER_SHEET), start=1):
        path = options.out / f"sheet-{number:02d}.png"
        sheet(pictures[start : start + PER_SHEET], path)
        print(path)


if __name__ == "__main__":
    main()
