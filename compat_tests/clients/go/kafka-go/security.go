package main

import (
	"crypto/tls"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	. "kawal/clients/contract"
)

func transport(request Request) *kafka.Transport {
	config, mechanism := secured(request)
	return &kafka.Transport{TLS: config, SASL: mechanism}
}

func dialer(request Request) *kafka.Dialer {
	config, mechanism := secured(request)
	return &kafka.Dialer{Timeout: 10 * time.Second, DualStack: true, TLS: config, SASLMechanism: mechanism}
}

// secured returns the settings of TLS and of the login; a file that cannot be read is a fault of the test.
func secured(request Request) (*tls.Config, sasl.Mechanism) {
	security := request.Security
	config, err := security.TLS()
	if err != nil {
		panic(err)
	}
	if security.Token {
		panic("kafka-go knows no delegation tokens")
	}
	var mechanism sasl.Mechanism
	switch security.Mechanism {
	case "PLAIN":
		mechanism = plain.Mechanism{Username: security.User, Password: security.Password}
	case "SCRAM-SHA-256":
		mechanism, err = scram.Mechanism(scram.SHA256, security.User, security.Password)
	case "SCRAM-SHA-512":
		mechanism, err = scram.Mechanism(scram.SHA512, security.User, security.Password)
	}
	if err != nil {
		panic(err)
	}
	return config, mechanism
}
