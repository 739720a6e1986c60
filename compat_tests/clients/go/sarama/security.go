package main

import (
	"crypto/sha256"
	"crypto/sha512"
	"hash"

	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"

	. "kawal/clients/contract"
)

var hashes = map[string]func() hash.Hash{
	sarama.SASLTypeSCRAMSHA256: sha256.New,
	sarama.SASLTypeSCRAMSHA512: sha512.New,
}

// secure sets TLS and the login; a file that cannot be read is a fault of the test.
func secure(config *sarama.Config, request Request) {
	security := request.Security
	made, err := security.TLS()
	if err != nil {
		panic(err)
	}
	if security.Token {
		panic("sarama knows no delegation tokens")
	}
	config.Net.TLS.Enable, config.Net.TLS.Config = made != nil, made
	if security.Mechanism == "" {
		return
	}
	config.Net.SASL.Enable = true
	config.Net.SASL.User, config.Net.SASL.Password = security.User, security.Password
	config.Net.SASL.Mechanism = sarama.SASLMechanism(security.Mechanism)
	config.Net.SASL.TokenProvider = bearer(security.Bearer)
	if hashed := hashes[security.Mechanism]; hashed != nil {
		config.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &login{hash: hashed} }
	}
}

type bearer string

// Token returns a token that does not change.
func (token bearer) Token() (*sarama.AccessToken, error) {
	return &sarama.AccessToken{Token: string(token)}, nil
}

// login is SCRAM as sarama's users provide it.
type login struct {
	hash         scram.HashGeneratorFcn
	conversation *scram.ClientConversation
}

func (login *login) Begin(user, password, authorized string) error {
	client, err := login.hash.NewClient(user, password, authorized)
	if err == nil {
		login.conversation = client.NewConversation()
	}
	return err
}

func (login *login) Step(challenge string) (string, error) { return login.conversation.Step(challenge) }

func (login *login) Done() bool { return login.conversation.Done() }
