"""The columns of a table of terms, one row for each kept report: its price μ, then C, C̄, a and b."""

PRICE, SLOPE, CAP, START, STEEP = range(5)
