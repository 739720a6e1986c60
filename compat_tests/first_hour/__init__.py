"""The first hour of a new user, from a fresh clone and from the wheel, with times and with mistakes."""
