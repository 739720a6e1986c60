"""One request between its bytes and its handler: decoding, the gate, the answer."""
