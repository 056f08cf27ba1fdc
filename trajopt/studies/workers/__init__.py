"""Where the calls of a study are made: in processes of their own, on any executor, on a Dask cluster."""
