"""The demo's query, as a view on the gateway and as a topic that Spark derives."""

VIEW = "late-flights-view"
DERIVED = "late-flights"

COLUMNS = "carrier string, flight int, origin string, dest string, arr_delay int"
QUERY = "SELECT carrier, flight, origin, dest, arr_delay FROM flights WHERE arr_delay > 180"
