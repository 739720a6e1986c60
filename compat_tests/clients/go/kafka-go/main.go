// The program of segmentio/kafka-go.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strconv"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	. "kawal/clients/contract"
)

const noIdempotence = "kafka-go has no idempotent producer"

var acks = map[string]kafka.RequiredAcks{"0": kafka.RequireNone, "1": kafka.RequireOne, "all": kafka.RequireAll}

const noTransactions = "kafka-go's writer has no transactions, only the requests that they are made of"

func main() {
	Serve(map[string]Operation{
		"version":                Version("github.com/segmentio/kafka-go"),
		"create_topic":           createTopic,
		"delete_topic":           deleteTopic,
		"describe_config":        describeConfig,
		"alter_config":           alterConfig,
		"delete_records":         Never("kafka-go has no call for DeleteRecords"),
		"list_offsets":           listOffsets,
		"produce":                produce,
		"produce_numbers":        produceNumbers,
		"consume":                consume,
		"consume_from_timestamp": consumeFromTimestamp,
		"consume_group":          consumeGroup,
		"transact":               Never(noTransactions),
		"fence":                  Never(noTransactions),
		"outlive":                Never(noTransactions),
		"copy":                   Never(noTransactions),
	})
}

func administrator(request Request) *kafka.Client {
	return &kafka.Client{
		Addr: kafka.TCP(request.Bootstrap), Timeout: 20 * time.Second, Transport: transport(request),
	}
}

func createTopic(ctx context.Context, request Request) (Answer, error) {
	topic := kafka.TopicConfig{
		Topic: request.Topic, NumPartitions: int(request.Partitions), ReplicationFactor: 1,
	}
	for name, value := range request.Configs {
		topic.ConfigEntries = append(topic.ConfigEntries, kafka.ConfigEntry{ConfigName: name, ConfigValue: value})
	}
	answer, err := administrator(request).CreateTopics(
		ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{topic}},
	)
	if err != nil {
		return nil, err
	}
	return nil, answer.Errors[request.Topic]
}

func deleteTopic(ctx context.Context, request Request) (Answer, error) {
	answer, err := administrator(request).DeleteTopics(
		ctx, &kafka.DeleteTopicsRequest{Topics: []string{request.Topic}},
	)
	if err != nil {
		return nil, err
	}
	return nil, answer.Errors[request.Topic]
}

func describeConfig(ctx context.Context, request Request) (Answer, error) {
	answer, err := administrator(request).DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{
		Resources: []kafka.DescribeConfigRequestResource{{
			ResourceType: kafka.ResourceTypeTopic,
			ResourceName: request.Topic,
			ConfigNames:  []string{request.Name},
		}},
	})
	if err != nil {
		return nil, err
	}
	resource := answer.Resources[0]
	if resource.Error != nil {
		return nil, resource.Error
	}
	return Answer{"value": resource.ConfigEntries[0].ConfigValue}, nil
}

func alterConfig(ctx context.Context, request Request) (Answer, error) {
	answer, err := administrator(request).IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{{
			ResourceType: kafka.ResourceTypeTopic,
			ResourceName: request.Topic,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{
				Name: request.Name, Value: request.Value, ConfigOperation: kafka.ConfigOperationSet,
			}},
		}},
	})
	if err != nil {
		return nil, err
	}
	return nil, answer.Resources[0].Error
}

func listOffsets(ctx context.Context, request Request) (Answer, error) {
	partition := int(request.Partition)
	answer, err := administrator(request).ListOffsets(ctx, &kafka.ListOffsetsRequest{
		Topics: map[string][]kafka.OffsetRequest{
			request.Topic: {kafka.FirstOffsetOf(partition), kafka.LastOffsetOf(partition)},
		},
	})
	if err != nil {
		return nil, err
	}
	found := answer.Topics[request.Topic][0]
	return Answer{"earliest": found.FirstOffset, "latest": found.LastOffset}, found.Error
}

func writer(request Request) *kafka.Writer {
	return &kafka.Writer{
		Addr:         kafka.TCP(request.Bootstrap),
		Topic:        request.Topic,
		Balancer:     kafka.BalancerFunc(func(kafka.Message, ...int) int { return int(request.Partition) }),
		RequiredAcks: kafka.RequireAll,
		BatchTimeout: 20 * time.Millisecond,
		// The default transport is shared and knows of new topics only after its 6 s.
		Transport: transport(request),
	}
}

func produce(ctx context.Context, request Request) (Answer, error) {
	if request.Idempotent {
		return nil, Cannot(noIdempotence)
	}
	writer := writer(request)
	writer.RequiredAcks = acks[request.Acks]
	if request.Codec != "none" {
		if err := writer.Compression.UnmarshalText([]byte(request.Codec)); err != nil {
			return nil, err
		}
	}
	messages := make([]kafka.Message, len(request.Records))
	for i, one := range request.Records {
		messages[i] = kafka.Message{
			Key: Bytes(one.Key), Value: Bytes(one.Value), Time: time.UnixMilli(one.Timestamp),
		}
		for _, header := range one.Headers {
			messages[i].Headers = append(
				messages[i].Headers, kafka.Header{Key: *header[0], Value: Bytes(header[1])},
			)
		}
	}
	return Answer{"offsets": nil}, errors.Join(writer.WriteMessages(ctx, messages...), writer.Close())
}

func produceNumbers(ctx context.Context, request Request) (Answer, error) {
	if request.Idempotent {
		return nil, Cannot(noIdempotence)
	}
	var lock sync.Mutex
	var firstError error
	acked, failed := []int{}, 0
	progress := Progress{}
	room := make(chan struct{}, UnansweredMax)
	writer := writer(request)
	writer.Async = true
	writer.MaxAttempts = int(Patience / time.Second)
	writer.Completion = func(messages []kafka.Message, err error) {
		lock.Lock()
		defer lock.Unlock()
		for _, one := range messages {
			<-room
			if err != nil {
				failed, firstError = failed+1, errors.Join(firstError, err)
				continue
			}
			number, _ := strconv.Atoi(string(one.Value))
			acked = append(acked, number)
		}
		progress.Tell(len(acked))
	}
	for number := range *request.Count {
		room <- struct{}{}
		if err := writer.WriteMessages(ctx, kafka.Message{Value: []byte(strconv.Itoa(number))}); err != nil {
			return nil, err
		}
		if number%NumbersAtATime == 0 {
			time.Sleep(Pause)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return Answer{"acked": acked, "failed": failed, "first_error": fmt.Sprint(firstError)}, nil
}

func reader(request Request, config kafka.ReaderConfig) *kafka.Reader {
	config.Brokers = []string{request.Bootstrap}
	config.Dialer = dialer(request)
	config.Topic = request.Topic
	config.MinBytes = 1
	config.MaxBytes = 10_000_000
	config.MaxWait = 200 * time.Millisecond
	config.ReadBackoffMax = 200 * time.Millisecond
	config.ErrorLogger = kafka.LoggerFunc(log.Printf)
	return kafka.NewReader(config)
}

func consume(ctx context.Context, request Request) (Answer, error) {
	return consumeFrom(ctx, request, func(reader *kafka.Reader) error { return reader.SetOffset(request.Offset) })
}

func consumeFromTimestamp(ctx context.Context, request Request) (Answer, error) {
	return consumeFrom(ctx, request, func(reader *kafka.Reader) error {
		return reader.SetOffsetAt(ctx, time.UnixMilli(request.Timestamp))
	})
}

func consumeFrom(ctx context.Context, request Request, seek func(*kafka.Reader) error) (Answer, error) {
	ends, err := listOffsets(ctx, request)
	if err != nil {
		return nil, err
	}
	reader := reader(request, kafka.ReaderConfig{Partition: int(request.Partition)})
	defer reader.Close()
	if err := seek(reader); err != nil {
		return nil, err
	}
	end := ends["latest"].(int64)
	if request.Count == nil && reader.Offset() >= end {
		return Answer{"records": []Record{}}, nil
	}
	records, _, err := taken(ctx, reader, request, end)
	return Answer{"records": records.All}, err
}

func consumeGroup(ctx context.Context, request Request) (Answer, error) {
	reader := reader(request, kafka.ReaderConfig{
		GroupID: request.Group, StartOffset: kafka.FirstOffset, RebalanceTimeout: 5 * time.Second,
	})
	records, messages, err := taken(ctx, reader, request, 0)
	if err == nil {
		err = commit(ctx, reader, messages)
	}
	return Answer{"records": records.All}, errors.Join(err, reader.Close())
}

// commit tries again while the group, after a restart, is not yet joined again.
func commit(ctx context.Context, reader *kafka.Reader, messages []kafka.Message) error {
	for {
		err := reader.CommitMessages(ctx, messages...)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func taken(
	ctx context.Context, reader *kafka.Reader, request Request, end int64,
) (*Records, []kafka.Message, error) {
	wait := Patience
	if request.Count == nil {
		wait = Silence
	}
	records, messages := Read(), []kafka.Message{}
	deadline := time.Now().Add(Patience)
	for !request.Done(records, end) {
		turn, cancel := context.WithTimeout(ctx, wait)
		message, err := reader.FetchMessage(turn)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && request.Count == nil {
			break
		}
		if err != nil && time.Now().After(deadline) {
			return records, nil, fmt.Errorf("after %d records: %w", len(records.All), err)
		}
		if err != nil {
			continue // the reader gives up after three attempts, the program after a minute
		}
		records.Add(shown(message))
		messages = append(messages, message)
	}
	return records, messages, nil
}

func shown(message kafka.Message) Record {
	headers := [][]*string{}
	for _, one := range message.Headers {
		headers = append(headers, []*string{&one.Key, Text(one.Value)})
	}
	return Record{
		Partition: int32(message.Partition),
		Offset:    message.Offset,
		Key:       Text(message.Key),
		Value:     Text(message.Value),
		Headers:   headers,
		Timestamp: message.Time.UnixMilli(),
	}
}
