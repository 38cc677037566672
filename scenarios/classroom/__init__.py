"""A lesson on a page: the question stands on the picture of its run; alone, or with a class whose pages follow."""
