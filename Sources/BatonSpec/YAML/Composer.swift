/// Builds the tree of one document from the events of libyaml, within `Limits`. At the first limit that is exceeded it
/// throws, and does not read the rest of the document.
struct Composer {
  private let stream: EventStream
  private var anchors: [String: Node] = [:]
  private var nodeCount = 0
  private var textBytes = 0
  var report: Report

  init(_ stream: EventStream, report: Report) {
    self.stream = stream
    self.report = report
  }

  /// The root of a document. Call it after the document's start event was read; it reads up to and including the
  /// end event.
  mutating func document() throws(SyntaxError) -> Node {
    let (event, position) = try stream.next()
    let root = try node(event, at: position, depth: 1)
    _ = try stream.next()
    return root
  }

  private mutating func node(_ event: Event, at position: Position, depth: Int) throws(SyntaxError) -> Node {
    try count(nodes: 1, bytes: 0, depth: depth, at: position)
    switch event {
    case .alias(let name): return try alias(name, at: position, depth: depth)
    case .scalar(let scalar, let properties):
      try count(nodes: 0, bytes: scalar.text.utf8.count, depth: depth, at: position)
      let node = Node(position: position, content: .scalar(scalar), textBytes: scalar.text.utf8.count)
      return finished(node, properties)
    case .sequenceStart(let properties): return finished(try sequence(at: position, depth: depth), properties)
    case .mappingStart(let properties): return finished(try mapping(at: position, depth: depth), properties)
    case .streamStart, .streamEnd, .documentStart, .documentEnd, .sequenceEnd, .mappingEnd:
      preconditionFailure("libyaml produced \(event) where a value starts")
    }
  }

  private mutating func sequence(at position: Position, depth: Int) throws(SyntaxError) -> Node {
    var elements: [Node] = []
    while true {
      let (event, place) = try stream.next()
      if case .sequenceEnd = event { break }
      elements.append(try node(event, at: place, depth: depth + 1))
    }
    return Node(position: position, content: .sequence(elements)).enclosing(elements)
  }

  private mutating func mapping(at position: Position, depth: Int) throws(SyntaxError) -> Node {
    var entries = MappingEntries()
    var parts: [Node] = []
    while true {
      let (event, place) = try stream.next()
      if case .mappingEnd = event { break }
      let key = try node(event, at: place, depth: depth + 1)
      let (next, valuePlace) = try stream.next()
      let value = try node(next, at: valuePlace, depth: depth + 1)
      parts += [key, value]
      entries.add(key, value, &report)
    }
    return Node(position: position, content: .mapping(entries.entries)).enclosing(parts)
  }

  private mutating func alias(_ name: String, at position: Position, depth: Int) throws(SyntaxError) -> Node {
    guard var target = anchors[name] else {
      report.error(
        "'*\(name)' is an alias, and no anchor '&\(name)' stands before it; put text that starts with '*' in quotes",
        at: position)
      return Node(position: position, content: .refused)
    }
    try count(nodes: target.nodeCount - 1, bytes: target.textBytes, depth: depth + target.height, at: position)
    target.position = position
    return target
  }

  private mutating func finished(_ node: Node, _ properties: Event.Properties) -> Node {
    var node = node
    if let tag = properties.tag {
      report.error(
        "tags such as \(quoted(shortened(tag))) are not supported; remove it, and put text in quotes", at: node.position
      )
      node.content = .refused
    }
    if let anchor = properties.anchor { anchors[anchor] = node }
    return node
  }

  private func shortened(_ tag: String) -> String {
    let standard = "tag:yaml.org,2002:"
    return tag.hasPrefix(standard) ? "!!" + tag.dropFirst(standard.count) : tag
  }

  private mutating func count(nodes: Int, bytes: Int, depth: Int, at position: Position) throws(SyntaxError) {
    nodeCount += nodes
    textBytes += bytes
    if depth > Limits.depth {
      throw SyntaxError(
        limit: "more than 64 levels of nesting, aliases included; a job needs no more than 5", at: position)
    }
    if nodeCount > Limits.nodesPerDocument {
      throw SyntaxError(
        limit: "more than 10,000 values in one document, aliases included; "
          + "put a long list in a file, one item a line, and write items: {lines: FILE}", at: position)
    }
    if textBytes > Limits.textBytesPerDocument {
      throw SyntaxError(
        limit: "more than 64 KiB of text in one document, aliases included; "
          + "put a long list in a file, one item a line, and write items: {lines: FILE}", at: position)
    }
  }
}

extension SyntaxError {
  fileprivate init(limit message: String, at position: Position) {
    self.init(problem: message, position: position, isLimit: true)
  }
}

extension Node {
  fileprivate func enclosing(_ parts: [Node]) -> Node {
    var node = self
    node.nodeCount += parts.reduce(0) { $0 + $1.nodeCount }
    node.textBytes += parts.reduce(0) { $0 + $1.textBytes }
    node.height = parts.map { $0.height + 1 }.max() ?? 0
    return node
  }
}
