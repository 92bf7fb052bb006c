"""The metrics that have a loop of their own."""

CITYBLOCK, EUCLIDEAN, SQEUCLIDEAN, CHEBYSHEV, MAHALANOBIS = range(5)
