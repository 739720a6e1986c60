package main

import (
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	. "kawal/clients/contract"
)

// connected returns the options that every client of a request has; a file that cannot be read is a fault of the test.
func connected(request Request) []kgo.Opt {
	security := request.Security
	made := []kgo.Opt{kgo.SeedBrokers(request.Bootstrap)}
	config, err := security.TLS()
	if err != nil {
		panic(err)
	}
	if config != nil {
		made = append(made, kgo.DialTLSConfig(config))
	}
	login := scram.Auth{User: security.User, Pass: security.Password, IsToken: security.Token}
	switch security.Mechanism {
	case "OAUTHBEARER":
		made = append(made, kgo.SASL(oauth.Auth{Token: security.Bearer}.AsMechanism()))
	case "PLAIN":
		made = append(made, kgo.SASL(plain.Auth{User: security.User, Pass: security.Password}.AsMechanism()))
	case "SCRAM-SHA-256":
		made = append(made, kgo.SASL(login.AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		made = append(made, kgo.SASL(login.AsSha512Mechanism()))
	}
	return made
}
