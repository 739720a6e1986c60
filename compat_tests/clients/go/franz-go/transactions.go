package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	. "kawal/clients/contract"
)

const transactionTimeout = time.Minute

func instance(request Request, timeout time.Duration) (*kgo.Client, error) {
	return kgo.NewClient(append(connected(request),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.TransactionalID(request.ID),
		kgo.TransactionTimeout(timeout),
	)...)
}

func beginAndSend(ctx context.Context, client *kgo.Client, topic, value string) error {
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	return client.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr()
}

func transact(ctx context.Context, request Request) (Answer, error) {
	client, err := instance(request, transactionTimeout)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for number := range *request.Count {
		if err := beginAndSend(ctx, client, request.Topic, strconv.Itoa(number)); err != nil {
			return nil, err
		}
		if err := client.EndTransaction(ctx, kgo.TransactionEndTry(number%3 != 2)); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func fence(ctx context.Context, request Request) (Answer, error) {
	old, err := instance(request, transactionTimeout)
	if err != nil {
		return nil, err
	}
	defer old.Close()
	if err := beginAndSend(ctx, old, request.Topic, "old"); err != nil {
		return nil, err
	}
	young, err := instance(request, transactionTimeout)
	if err != nil {
		return nil, err
	}
	defer young.Close()
	if err := beginAndSend(ctx, young, request.Topic, "young"); err != nil {
		return nil, err
	}
	if err := young.EndTransaction(ctx, kgo.TryCommit); err != nil {
		return nil, err
	}
	return Answer{"refused": old.EndTransaction(ctx, kgo.TryCommit) != nil}, nil
}

func outlive(ctx context.Context, request Request) (Answer, error) {
	client, err := instance(request, time.Duration(request.Timeout)*time.Millisecond)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if err := beginAndSend(ctx, client, request.Topic, "late"); err != nil {
		return nil, err
	}
	time.Sleep(time.Duration(request.Wait) * time.Millisecond)
	return Answer{"refused": client.EndTransaction(ctx, kgo.TryCommit) != nil}, nil
}

func copyRecords(ctx context.Context, request Request) (Answer, error) {
	session, err := kgo.NewGroupTransactSession(append(connected(request),
		kgo.TransactionalID(request.ID),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ConsumerGroup(request.Group),
		kgo.ConsumeTopics(request.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
	)...)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	copied := 0
	for copied < *request.Count {
		fetches := session.PollRecords(ctx, 5)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%d records in %v", copied, Patience)
		}
		if err := session.Begin(); err != nil {
			return nil, err
		}
		written := kgo.AbortingFirstErrPromise(session.Client())
		fetches.EachRecord(func(one *kgo.Record) {
			record := &kgo.Record{Topic: request.Target, Value: append(one.Value, '!')}
			session.Produce(ctx, record, written.Promise())
		})
		failure := written.Err()
		committed, err := session.End(ctx, failure == nil)
		if err = errors.Join(failure, err); err != nil {
			return nil, err
		}
		if committed {
			copied += fetches.NumRecords()
		}
	}
	return Answer{"copied": copied}, nil
}
