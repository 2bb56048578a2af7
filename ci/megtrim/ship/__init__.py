"""What ships: releases, and crashes in the field."""
