# What CI runs is `make check`; the README's two commands are `make demo` and `make test`.
SWIFT ?= swift

.PHONY: proto
## proto: regenerates the protobuf code after a change of baton.proto (needs protoc)
proto:
	$(SWIFT) build --scratch-path .build-protoc --product protoc-gen-swift
	$(SWIFT) build --scratch-path .build-protoc --product protoc-gen-grpc-swift-2
	bin=$$($(SWIFT) build --scratch-path .build-protoc --show-bin-path) && cd Sources/BatonProtobuf && \
	protoc --plugin=protoc-gen-swift=$$bin/protoc-gen-swift \
	  --plugin=protoc-gen-grpc-swift-2=$$bin/protoc-gen-grpc-swift-2 \
	  --swift_out=Visibility=Package,UseAccessLevelOnImports=true:Generated \
	  --grpc-swift-2_out=Visibility=Package,UseAccessLevelOnImports=true:Generated baton.proto
