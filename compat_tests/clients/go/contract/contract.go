// Package contract is the programs' side of the contract in ../../README.md, for those written in Go.
package contract

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

const (
	// NumbersAtATime numbers every Pause: about 1,000 a second.
	NumbersAtATime = 10
	Pause          = 10 * time.Millisecond

	UnansweredMax = 200
	Patience      = 60 * time.Second

	// Silence ends reading to the end with clients that do not tell their position: after the last record
	// there may be offsets without a record.
	Silence = 6 * time.Second

	progressEvery = 100
)

// Record is one record as the contract has it.
type Record struct {
	Partition int32       `json:"partition"`
	Offset    int64       `json:"offset"`
	Key       *string     `json:"key"`
	Value     *string     `json:"value"`
	Headers   [][]*string `json:"headers"`
	Timestamp int64       `json:"timestamp"`
}

// Request is one line of standard input.
type Request struct {
	Operation  string
	Bootstrap  string
	Topic      string
	Partition  int32
	Partitions int32
	Configs    map[string]string
	Codec      string
	Acks       string
	Idempotent bool
	Records    []Record
	Offset     int64
	Count      *int
	Timestamp  int64
	Group      string
	Name       string
	Value      string
	Before     int64
	Target     string
	Timeout    int
	Wait       int
	Strict     int
	ID         string `json:"transactional_id"`
	Security   Security
}

// Security says how the client shows who it is; certificates are files with the key in them.
type Security struct {
	Protocol    string
	Authority   string
	Certificate string
	Mechanism   string
	User        string
	Password    string
	Token       bool
	Bearer      string
}

// TLS returns the settings of TLS, nil for protocols without it.
func (security Security) TLS() (*tls.Config, error) {
	if security.Authority == "" {
		return nil, nil
	}
	authority, err := os.ReadFile(security.Authority)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(authority)
	if security.Certificate != "" {
		own, err := tls.LoadX509KeyPair(security.Certificate, security.Certificate)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}

// Answer holds the fields of an answer.
type Answer map[string]any

// Operation does what a request asks for.
type Operation func(context.Context, Request) (Answer, error)

// Cannot says why the client itself has no such thing.
type Cannot string

func (reason Cannot) Error() string { return string(reason) }

// Never is an operation that the client does not have.
func Never(reason string) Operation {
	return func(context.Context, Request) (Answer, error) { return nil, Cannot(reason) }
}

// Serve answers requests until standard input ends.
func Serve(operations map[string]Operation) {
	input := bufio.NewReader(os.Stdin)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return
		}
		say(answer(operations, line))
	}
}

func answer(operations map[string]Operation, line []byte) Answer {
	var request Request
	if err := json.Unmarshal(line, &request); err != nil {
		return Answer{"error": err.Error()}
	}
	operation, known := operations[request.Operation]
	if !known {
		return Answer{"error": "no operation " + request.Operation}
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience+20*time.Second)
	defer cancel()
	fields, err := operation(ctx, request)
	var cannot Cannot
	if errors.As(err, &cannot) {
		return Answer{"cannot": string(cannot)}
	}
	if err != nil {
		return Answer{"error": fmt.Sprintf("%s: %v", request.Operation, err)}
	}
	if fields == nil {
		fields = Answer{}
	}
	return Answer{"ok": fields}
}

func say(line Answer) {
	encoded, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(encoded, '\n'))
}

// Progress reports progress in steps. It is not safe for use by several goroutines at once.
type Progress struct{ told int }

// Tell reports how much is done, if that is in a later step than last reported.
func (progress *Progress) Tell(count int) {
	if count/progressEvery > progress.told/progressEvery {
		progress.told = count
		say(Answer{"progress": count})
	}
}

// Version returns the version of a module that the program was built with.
func Version(module string) Operation {
	return func(context.Context, Request) (Answer, error) {
		info, _ := debug.ReadBuildInfo()
		for _, one := range info.Deps {
			if one.Path == module {
				return Answer{"version": one.Version}, nil
			}
		}
		return nil, fmt.Errorf("built without %s", module)
	}
}

// Bytes returns a text's bytes; null stays null.
func Bytes(text *string) []byte {
	if text == nil {
		return nil
	}
	return []byte(*text)
}

// Text returns the text of some bytes; null stays null.
func Text(data []byte) *string {
	if data == nil {
		return nil
	}
	text := string(data)
	return &text
}

// Records are those that a request has read so far.
type Records struct {
	All      []Record
	seen     map[[2]int64]bool
	progress Progress
}

// Read returns an empty list.
func Read() *Records {
	return &Records{All: []Record{}, seen: map[[2]int64]bool{}}
}

// Add takes a record, unless it is read again, and reports progress.
func (records *Records) Add(record Record) {
	place := [2]int64{int64(record.Partition), record.Offset}
	if records.seen[place] {
		return
	}
	records.seen[place] = true
	records.All = append(records.All, record)
	records.progress.Tell(len(records.All))
}

// Done says whether reading is over: enough records, or the end reached.
func (request Request) Done(records *Records, end int64) bool {
	count := len(records.All)
	if request.Count != nil {
		return count >= *request.Count
	}
	return count > 0 && records.All[count-1].Offset+1 >= end
}
