import BatonProtobuf
import BatonWire
import SwiftProtobuf

/// One page of an answer that may be larger than one message. The elements keep their order.
struct Pages<Element: SwiftProtobuf.Message> {
  var elements: [Element] = []
  /// The encoded size of the elements, with the bytes that precede each element.
  var bytes = 0
}

extension Pages {
  /// The size at which a page is closed: large enough that the number of pages costs little, and small enough that a
  /// message with one page and a request is not larger than 1 MiB.
  static var targetBytes: Int { 896 << 10 }
  /// The most bytes that precede an element in a message: the number of its field, and its length.
  static var overhead: Int { 6 }
  /// The most bytes of elements in the one message for a client that does not know pages.
  static var largestMessage: Int { targetBytes }

  /// Cuts the elements into pages. Each element is encoded once to measure it. An element that is larger than a page
  /// gets a page of its own.
  static func of(_ elements: some Sequence<Element>) throws -> [Pages] {
    var pages: [Pages] = []
    var last = Pages()
    for element in elements {
      let bytes: [UInt8] = try element.serializedBytes()
      let size = bytes.count + overhead
      if !last.elements.isEmpty, last.bytes + size > targetBytes {
        pages.append(last)
        last = Pages()
      }
      last.elements.append(element)
      last.bytes += size
    }
    return last.elements.isEmpty ? pages : pages + [last]
  }
}
