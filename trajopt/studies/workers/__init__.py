"""Workers of a study: processes of its own, any executor, or a Dask cluster."""
