"""How a table is read: what each column is, decided once from the pool and applied alike to new rows.

The flow: cells as they lie in a file or a frame (`cells`) -> one `Reading` a column (`decide`, with `sketch`,
`numbers`, `missing_codes`, `times` and `words`) -> columns to compute with (`parse`). A reading is plain
data: it is stored with a model and shown.
"""
