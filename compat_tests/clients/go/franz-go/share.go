package main

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	. "kawal/clients/contract"
)

const renewals = 3

var statuses = map[string]kgo.AckStatus{
	"accept":  kgo.AckAccept,
	"release": kgo.AckRelease,
	"reject":  kgo.AckReject,
}

// worker is one member of a share group, and what it has seen.
type worker struct {
	client *kgo.Client
	wait   time.Duration

	deliveries [][]any
	sizes      []int

	lock    sync.Mutex
	refused []string
}

// work does with the n-th delivery of a record what the n-th word of its value says.
func work(ctx context.Context, request Request) (Answer, error) {
	one := &worker{
		wait: time.Duration(request.Wait) * time.Millisecond, deliveries: [][]any{}, refused: []string{},
	}
	options := append(connected(request),
		kgo.ShareGroup(request.Group),
		kgo.ConsumeTopics(request.Topic),
		kgo.ShareAckCallback(one.told),
	)
	if request.Strict > 0 {
		options = append(options, kgo.ShareMaxRecords(int32(request.Strict)), kgo.ShareMaxRecordsStrict())
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	one.client = client
	for len(one.deliveries) < *request.Count {
		if err := one.poll(ctx); err != nil {
			return nil, err
		}
	}
	return Answer{"deliveries": one.deliveries, "sizes": one.sizes, "refused": one.refused}, nil
}

func (one *worker) told(_ *kgo.Client, results kgo.ShareAckResults) {
	one.lock.Lock()
	defer one.lock.Unlock()
	for _, result := range results {
		if result.Err != nil {
			name, _, _ := strings.Cut(result.Err.Error(), ":")
			one.refused = append(one.refused, name)
		}
	}
}

func (one *worker) poll(ctx context.Context) error {
	fetches := one.client.PollFetches(ctx)
	if err := fetches.Err(); err != nil {
		return err
	}
	records := fetches.Records()
	if len(records) > 0 {
		one.sizes = append(one.sizes, len(records))
	}
	for _, record := range records {
		one.deliveries = append(one.deliveries, []any{string(record.Value), record.DeliveryCount()})
		words := strings.Fields(string(record.Value))
		if err := one.act(ctx, record, words[min(int(record.DeliveryCount()), len(words))-1]); err != nil {
			return err
		}
	}
	return one.client.FlushAcks(ctx)
}

func (one *worker) act(ctx context.Context, record *kgo.Record, word string) error {
	switch word {
	case "renew":
		for range renewals {
			time.Sleep(one.wait)
			record.Ack(kgo.AckRenew)
			if err := one.client.FlushAcks(ctx); err != nil {
				return err
			}
		}
	case "late":
		time.Sleep(one.wait)
	default:
		record.Ack(statuses[word])
		return nil
	}
	record.Ack(kgo.AckAccept)
	return nil
}
