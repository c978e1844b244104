"""HTTP: the application, its routes, the checks of every request, and errors."""
