internal import CZlib

/// The HTTP content encoding `gzip` (RFC 1952).
enum Gzip {
  /// The compressed bytes; `nil` only if zlib could not allocate memory.
  static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
    var stream = z_stream()
    // The fastest level is sufficient: spans are so repetitive that the best level makes them only a little smaller. A
    // window of 15 bits is the largest; adding 16 selects gzip's header in place of zlib's.
    let begun = deflateInit2_(
      &stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    guard begun == Z_OK else { return nil }
    defer { deflateEnd(&stream) }
    return deflated(bytes, &stream)
  }

  /// Compresses all bytes in one step. `deflateBound` is an upper bound of the size of the output.
  private static func deflated(_ bytes: [UInt8], _ stream: inout z_stream) -> [UInt8]? {
    var bytes = bytes
    return bytes.withUnsafeMutableBufferPointer { input in
      let bound = Int(deflateBound(&stream, UInt(input.count)))
      var isDone = false
      let output = [UInt8](unsafeUninitializedCapacity: bound) { output, count in
        (stream.next_in, stream.avail_in) = (input.baseAddress, UInt32(input.count))
        (stream.next_out, stream.avail_out) = (output.baseAddress, UInt32(output.count))
        isDone = deflate(&stream, Z_FINISH) == Z_STREAM_END
        count = Int(stream.total_out)
      }
      return isDone ? output : nil
    }
  }
}
