// The program of franz-go: the kgo client and the kadm admin client.
package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	. "kawal/clients/contract"
)

var codecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

var acks = map[string]kgo.Acks{"0": kgo.NoAck(), "1": kgo.LeaderAck(), "all": kgo.AllISRAcks()}

func main() {
	Serve(map[string]Operation{
		"version":                Version("github.com/twmb/franz-go"),
		"create_topic":           administer(createTopic),
		"delete_topic":           administer(deleteTopic),
		"describe_config":        administer(describeConfig),
		"alter_config":           administer(alterConfig),
		"delete_records":         administer(deleteRecords),
		"list_offsets":           administer(listOffsets),
		"produce":                produce,
		"produce_numbers":        produceNumbers,
		"consume":                consume,
		"consume_from_timestamp": consumeFromTimestamp,
		"consume_group":          consumeGroup,
		"transact":               transact,
		"fence":                  fence,
		"outlive":                outlive,
		"copy":                   copyRecords,
		"work":                   work,
	})
}

func administer(operation func(context.Context, *kadm.Client, Request) (Answer, error)) Operation {
	return func(ctx context.Context, request Request) (Answer, error) {
		client, err := kgo.NewClient(connected(request)...)
		if err != nil {
			return nil, err
		}
		defer client.Close()
		return operation(ctx, kadm.NewClient(client), request)
	}
}

func createTopic(ctx context.Context, admin *kadm.Client, request Request) (Answer, error) {
	configs := map[string]*string{}
	for name, value := range request.Configs {
		configs[name] = &value
	}
	_, err := admin.CreateTopic(ctx, request.Partitions, 1, configs, request.Topic)
	return nil, err
}

func deleteTopic(ctx context.Context, admin *kadm.Client, request Request) (Answer, error) {
	answers, err := admin.DeleteTopics(ctx, request.Topic)
	return nil, errors.Join(err, answers.Error())
}

func describeConfig(ctx context.Context, admin *kadm.Client, request Request) (Answer, error) {
	described, err := admin.DescribeTopicConfigs(ctx, request.Topic)
	if err != nil {
		return nil, err
	}
	topic, err := described.On(request.Topic, nil)
	if err = errors.Join(err, topic.Err); err != nil {
		return nil, err
	}
	for _, config := range topic.Configs {
		if config.Key == request.Name {
			return Answer{"value": config.Value}, nil
		}
	}
	return nil, fmt.Errorf("no config %s", request.Name)
}

func alterConfig(ctx context.Context, admin *kadm.Client, request Request) (Answer, error) {
	change := kadm.AlterConfig{Op: kadm.SetConfig, Name: request.Name, Value: &request.Value}
	answers, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{change}, request.Topic)
	if err != nil {
		return nil, err
	}
	answer, err := answers.On(request.Topic, nil)
	return nil, errors.Join(err, answer.Err)
}

func deleteRecords(ctx context.Context, admin *kadm.Client, request Request) (Answer, error) {
	offsets := kadm.Offsets{}
	offsets.AddOffset(request.Topic, request.Partition, request.Before, -1)
	answers, err := admin.DeleteRecords(ctx, offsets)
	return nil, errors.Join(err, answers.Error())
}

func listOffsets(ctx context.Context, admin *kadm.Client, request Request) (Answer, error) {
	earliest, err := admin.ListStartOffsets(ctx, request.Topic)
	if err = errors.Join(err, earliest.Error()); err != nil {
		return nil, err
	}
	latest, err := endOffset(ctx, admin, request)
	if err != nil {
		return nil, err
	}
	first, _ := earliest.Lookup(request.Topic, request.Partition)
	return Answer{"earliest": first.Offset, "latest": latest}, nil
}

func endOffset(ctx context.Context, admin *kadm.Client, request Request) (int64, error) {
	ends, err := admin.ListEndOffsets(ctx, request.Topic)
	if err = errors.Join(err, ends.Error()); err != nil {
		return 0, err
	}
	end, _ := ends.Lookup(request.Topic, request.Partition)
	return end.Offset, nil
}

func producer(request Request, options ...kgo.Opt) (*kgo.Client, error) {
	options = append(append(connected(request), options...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if !request.Idempotent {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	return kgo.NewClient(options...)
}

func produce(ctx context.Context, request Request) (Answer, error) {
	client, err := producer(
		request,
		kgo.ProducerBatchCompression(codecs[request.Codec]),
		kgo.RequiredAcks(acks[request.Acks]),
		kgo.ProducerLinger(20*time.Millisecond),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	records := make([]*kgo.Record, len(request.Records))
	for i, one := range request.Records {
		records[i] = &kgo.Record{
			Topic:     request.Topic,
			Partition: request.Partition,
			Key:       Bytes(one.Key),
			Value:     Bytes(one.Value),
			Timestamp: time.UnixMilli(one.Timestamp),
		}
		for _, header := range one.Headers {
			records[i].Headers = append(
				records[i].Headers, kgo.RecordHeader{Key: *header[0], Value: Bytes(header[1])},
			)
		}
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return nil, err
	}
	if request.Acks == "0" {
		return Answer{"offsets": nil}, nil
	}
	offsets := make([]int64, len(records))
	for i, one := range records {
		offsets[i] = one.Offset
	}
	return Answer{"offsets": offsets}, nil
}

func produceNumbers(ctx context.Context, request Request) (Answer, error) {
	// After a broken connection franz-go looks at the metadata again before it sends: by default after 5 s.
	soon := kgo.MetadataMinAge(250 * time.Millisecond)
	client, err := producer(request, soon, kgo.RecordDeliveryTimeout(Patience))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var lock sync.Mutex
	var firstError error
	acked, failed := []int{}, 0
	progress := Progress{}
	room := make(chan struct{}, UnansweredMax)
	for number := range *request.Count {
		room <- struct{}{}
		record := &kgo.Record{Topic: request.Topic, Value: []byte(strconv.Itoa(number))}
		client.Produce(ctx, record, func(_ *kgo.Record, err error) {
			lock.Lock()
			defer lock.Unlock()
			<-room
			if err != nil {
				failed, firstError = failed+1, errors.Join(firstError, err)
				return
			}
			acked = append(acked, number)
			progress.Tell(len(acked))
		})
		if number%NumbersAtATime == 0 {
			time.Sleep(Pause)
		}
	}
	if err := client.Flush(ctx); err != nil {
		return nil, err
	}
	return Answer{"acked": acked, "failed": failed, "first_error": fmt.Sprint(firstError)}, nil
}

func consume(ctx context.Context, request Request) (Answer, error) {
	return consumeFrom(ctx, request, kgo.NewOffset().At(request.Offset))
}

func consumeFromTimestamp(ctx context.Context, request Request) (Answer, error) {
	return consumeFrom(ctx, request, kgo.NewOffset().AfterMilli(request.Timestamp))
}

func consumeFrom(ctx context.Context, request Request, offset kgo.Offset) (Answer, error) {
	client, err := kgo.NewClient(append(connected(request),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{request.Topic: {request.Partition: offset}}),
	)...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	end, err := endOffset(ctx, kadm.NewClient(client), request)
	if err != nil {
		return nil, err
	}
	if request.Count == nil && request.Offset >= end {
		return Answer{"records": []Record{}}, nil
	}
	records, err := taken(ctx, client, request, end)
	if err != nil {
		return nil, err
	}
	return Answer{"records": records.All}, nil
}

func consumeGroup(ctx context.Context, request Request) (Answer, error) {
	client, err := kgo.NewClient(append(connected(request),
		kgo.ConsumerGroup(request.Group),
		kgo.ConsumeTopics(request.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
	)...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	records, err := taken(ctx, client, request, 0)
	if err != nil {
		return nil, err
	}
	return Answer{"records": records.All}, client.CommitUncommittedOffsets(ctx)
}

func taken(ctx context.Context, client *kgo.Client, request Request, end int64) (*Records, error) {
	records := Read()
	var last error
	deadline, heard := time.Now().Add(Patience), time.Now()
	for !request.Done(records, end) {
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%d records after %v; last error %v", len(records.All), Patience, last)
		}
		if request.Count == nil && time.Since(heard) > Silence {
			break
		}
		turn, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		fetches := client.PollFetches(turn)
		cancel()
		fetches.EachError(func(_ string, _ int32, err error) { last = err })
		fetches.EachRecord(func(one *kgo.Record) { records.Add(shown(one)) })
		if fetches.NumRecords() > 0 {
			heard = time.Now()
		}
	}
	return records, nil
}

func shown(record *kgo.Record) Record {
	headers := [][]*string{}
	for _, one := range record.Headers {
		headers = append(headers, []*string{&one.Key, Text(one.Value)})
	}
	return Record{
		Partition: record.Partition,
		Offset:    record.Offset,
		Key:       Text(record.Key),
		Value:     Text(record.Value),
		Headers:   headers,
		Timestamp: record.Timestamp.UnixMilli(),
	}
}
