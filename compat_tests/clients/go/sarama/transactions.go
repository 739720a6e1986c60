package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/IBM/sarama"

	. "kawal/clients/contract"
)

const transactionTimeout = time.Minute

func instance(request Request, timeout time.Duration) (sarama.SyncProducer, error) {
	config := settings(request)
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1
	config.Producer.Transaction.ID = request.ID
	config.Producer.Transaction.Timeout = timeout
	return sarama.NewSyncProducer([]string{request.Bootstrap}, config)
}

func send(producer sarama.SyncProducer, topic, value string) error {
	_, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value)})
	return err
}

func beginAndSend(producer sarama.SyncProducer, topic, value string) error {
	if err := producer.BeginTxn(); err != nil {
		return err
	}
	return send(producer, topic, value)
}

func transact(_ context.Context, request Request) (Answer, error) {
	producer, err := instance(request, transactionTimeout)
	if err != nil {
		return nil, err
	}
	for number := range *request.Count {
		if err := beginAndSend(producer, request.Topic, strconv.Itoa(number)); err != nil {
			return nil, err
		}
		end := producer.CommitTxn
		if number%3 == 2 {
			end = producer.AbortTxn
		}
		if err := end(); err != nil {
			return nil, err
		}
	}
	return nil, producer.Close()
}

func fence(_ context.Context, request Request) (Answer, error) {
	old, err := instance(request, transactionTimeout)
	if err != nil {
		return nil, err
	}
	defer old.Close()
	if err := beginAndSend(old, request.Topic, "old"); err != nil {
		return nil, err
	}
	young, err := instance(request, transactionTimeout)
	if err != nil {
		return nil, err
	}
	defer young.Close()
	if err := errors.Join(beginAndSend(young, request.Topic, "young"), young.CommitTxn()); err != nil {
		return nil, err
	}
	return Answer{"refused": old.CommitTxn() != nil}, nil
}

func outlive(_ context.Context, request Request) (Answer, error) {
	producer, err := instance(request, time.Duration(request.Timeout)*time.Millisecond)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	if err := beginAndSend(producer, request.Topic, "late"); err != nil {
		return nil, err
	}
	time.Sleep(time.Duration(request.Wait) * time.Millisecond)
	return Answer{"refused": producer.CommitTxn() != nil}, nil
}

// copier writes what it is given, each record in a transaction with its offset, until there is enough.
type copier struct {
	request  Request
	producer sarama.SyncProducer
	copied   int
	failure  error
	enough   context.CancelFunc
}

func (*copier) Setup(sarama.ConsumerGroupSession) error { return nil }

func (*copier) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (one *copier) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			one.failure = one.copy(message)
			one.copied++
			if one.failure != nil || one.copied == *one.request.Count {
				one.enough()
				return nil
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

func (one *copier) copy(message *sarama.ConsumerMessage) error {
	if err := beginAndSend(one.producer, one.request.Target, string(message.Value)+"!"); err != nil {
		return err
	}
	if err := one.producer.AddMessageToTxn(message, one.request.Group, nil); err != nil {
		return err
	}
	return one.producer.CommitTxn()
}

func copyRecords(ctx context.Context, request Request) (Answer, error) {
	producer, err := instance(request, transactionTimeout)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	config := settings(request)
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	group, err := sarama.NewConsumerGroup([]string{request.Bootstrap}, request.Group, config)
	if err != nil {
		return nil, err
	}
	defer group.Close()
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	reader := &copier{request: request, producer: producer, enough: cancel}
	for ctx.Err() == nil {
		if err := group.Consume(ctx, []string{request.Topic}, reader); err != nil {
			return nil, err
		}
	}
	if reader.failure == nil && reader.copied < *request.Count {
		reader.failure = fmt.Errorf("%d records in %v", reader.copied, Patience)
	}
	return Answer{"copied": reader.copied}, reader.failure
}
