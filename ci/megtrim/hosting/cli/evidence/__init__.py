"""``megtrim ci evidence``: pack a device job, do it elsewhere, join what came back."""
