"""From the results of stages to what a verdict shows of them."""
