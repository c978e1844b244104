"""The route handlers, one module per resource. Each takes a `RouteRequest` and returns the response body."""
