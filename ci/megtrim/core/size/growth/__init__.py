"""Why a file grew: what it was built from, and which cause has which bytes. Pure."""
