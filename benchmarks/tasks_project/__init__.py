"""What ``benchmarks/tasks_backend.py`` measures: one task, on the backend that ``BENCH_BACKEND`` names."""
