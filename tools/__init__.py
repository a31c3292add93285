"""What the noxfile and the layering tests share; nothing here is shipped."""
