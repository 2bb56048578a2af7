/*
 * Empty on purpose. This file is included first in every translation unit, and the build of a
 * trimmed engine puts the generated header in its place.
 */
