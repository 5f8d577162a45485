package archtest

import (
	"context"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"

	"isospin/internal/wire"
)

// TestProtocolFresh compiles the .proto files anew and compares them with the descriptors in the generated
// code. It needs no protoc: only who changes the protocol does.
func TestProtocolFresh(t *testing.T) {
	kept := map[string]protoreflect.FileDescriptor{
		"session.proto":   wire.File_session_proto,
		"documents.proto": wire.File_documents_proto,
	}
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{ImportPaths: []string{"../wire"}}}
	all, err := read("../..")
	if err != nil {
		t.Fatal(err)
	}
	for path := range all.texts {
		name, ok := strings.CutPrefix(path, "internal/wire/")
		if !ok || !strings.HasSuffix(name, ".proto") {
			continue
		}
		if kept[name] == nil {
			t.Errorf("%s is not compared here; add it", path)
			continue
		}
		made, err := compiler.Compile(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(protodesc.ToFileDescriptorProto(made[0]), protodesc.ToFileDescriptorProto(kept[name])) {
			t.Errorf("the code of %s is stale: run make generate", path)
		}
	}
}
