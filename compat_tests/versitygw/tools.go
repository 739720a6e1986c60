//go:build tools

// Package tools names the program that this module builds.
package tools

import _ "github.com/versity/versitygw/cmd/versitygw"
