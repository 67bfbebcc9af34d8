"""Networks that classify or fit: modular arithmetic, a teacher, images, points, a function of one variable."""
