"""What a device host is (wanted), what is there (machine), and the way between (plan)."""
