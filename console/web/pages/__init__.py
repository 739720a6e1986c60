"""The pages, a module for each part of the console; console/web/routes.py lists them."""
