"""The verdict as people and tools read it: JUnit, Markdown, HTML, a table for the terminal."""
