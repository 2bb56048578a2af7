"""megtrim size: measure artifacts; what each byte of a file is, and how two files differ."""
