"""Problem files that `trajopt new` writes, commented and solved as they stand; "NAME" becomes the name."""
