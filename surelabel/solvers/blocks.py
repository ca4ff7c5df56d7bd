"""How many rows are processed at a time.

The number does not depend on the machine, because sums over other blocks would differ in the last
digits.
"""

BLOCK = 2**22  # numbers: 32 MiB of float64


def block_rows(width: int) -> int:
    """Number of rows of a block, if each row takes ``width`` numbers."""
    return max(1, BLOCK // max(width, 1))


def feature_rows(n_components: int) -> int:
    """Number of rows whose features are summed at a time: enough for products with their Gram
    matrix to be fast, however many features there are.
    """
    return max(256, block_rows(n_components))
