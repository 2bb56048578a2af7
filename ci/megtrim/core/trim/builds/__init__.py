"""Building variants, links and headers, for more than one stage."""
