"""Pipeline jobs broken from outside, at named points, in every format: each must end in an equal audit."""
