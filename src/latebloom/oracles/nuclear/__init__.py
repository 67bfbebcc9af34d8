"""The minimum nuclear norm: three methods that propose, one certificate that decides."""
