package main

import (
	"context"
	"fmt"
	"time"

	"github.com/IBM/sarama"

	. "kawal/clients/contract"
)

// member takes the records of every claim into one channel.
type member struct {
	taken  chan Record
	enough chan struct{}
}

func (*member) Setup(sarama.ConsumerGroupSession) error { return nil }

func (*member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (one *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			select {
			case one.taken <- shown(message):
				session.MarkMessage(message, "")
			case <-one.enough:
				session.Commit()
				return nil
			}
		case <-one.enough:
			session.Commit()
			return nil
		case <-session.Context().Done():
			return nil
		}
	}
}

func consumeGroup(ctx context.Context, request Request) (Answer, error) {
	group, err := sarama.NewConsumerGroup([]string{request.Bootstrap}, request.Group, settings(request))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reader := &member{taken: make(chan Record), enough: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- join(ctx, group, request.Topic, reader) }()
	var last error
	records := Read()
	deadline := time.After(Patience)
	for !request.Done(records, 0) {
		select {
		case record := <-reader.taken:
			records.Add(record)
		case last = <-group.Errors():
		case <-deadline:
			return nil, fmt.Errorf("%d records after %v; last error %v", len(records.All), Patience, last)
		}
	}
	close(reader.enough)
	err = <-ended
	group.Close() // what it returns are the errors of an outage that is over
	return Answer{"records": records.All}, err
}

// join stays in the group, over rebalances and broken connections, until there is enough.
func join(ctx context.Context, group sarama.ConsumerGroup, topic string, reader *member) error {
	for {
		err := group.Consume(ctx, []string{topic}, reader)
		select {
		case <-reader.enough:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
