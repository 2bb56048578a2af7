"""What travels between CI jobs as data: the bundle that a device job gets, what it brings back."""
