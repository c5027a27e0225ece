import BatonModel

/// The keys `work.transfer` and `work.transfers`.
extension DefinitionDecoder {
  /// The transfers of the mapping `work`; `nil` if there are none.
  mutating func transfers(_ work: Field?) -> [DefinedTransfer]? {
    let (one, many) = (part("transfer", of: work), part("transfers", of: work))
    if let one, many != nil {
      report.error("\(one.label) and 'work.transfers' cannot both be there; put it into the list", at: one.keyPosition)
    }
    guard let first = one ?? many else { return nil }
    for key in ["spread", "shards"] where part(key, of: work) != nil {
      report.error("\(first.label) \(Definition.noSpreadTransfers)", at: first.keyPosition)
      break
    }
    var transfers: [DefinedTransfer] = []
    if let one { transfers += transfer(one) }
    if let many {
      let nodes = list(many, "a list of mappings such as [{url: https://example.com/a.csv}]") ?? []
      if nodes.isEmpty, case .sequence = many.value.content {
        report.error("\(many.label) is empty; leave it out if nothing is to be fetched", at: many.value.position)
      }
      for node in nodes { transfers += transfer(Field(label: many.label, keyPosition: node.position, value: node)) }
    }
    checkTransfers(transfers, first)
    return transfers.isEmpty ? nil : transfers
  }

  private mutating func checkTransfers(_ transfers: [DefinedTransfer], _ field: Field) {
    if transfers.count > Definition.Limits.transfers {
      report.error(
        "\(field.label) has \(transfers.count) transfers; at most \(Definition.Limits.transfers) are allowed: a launch "
          + "can add others", at: field.keyPosition)
    }
    var targets: Set<String> = []
    for target in transfers.compactMap(\.transfer.to) where !targets.insert(target).inserted {
      report.error(
        "\(field.label) has two transfers to \(quoted(target)); each needs a file of its own", at: field.keyPosition)
    }
  }

  /// One mapping, which stands for several transfers if it has `urls` or `items`.
  private mutating func transfer(_ field: Field) -> [DefinedTransfer] {
    guard var fields = mapping(field, .transfer, example: "{url: https://example.com/a.csv, to: a.csv}") else {
      return []
    }
    fields.position = field.keyPosition
    let errors = report.errorCount
    let places = places(fields)
    var base = Transfer(url: "")
    readConditions(fields, into: &base)
    var delay: Duration?
    switch earliestBeginDate(fields["earliestBeginDate"], repeats: false) {
    case .afterSubmission(let duration): delay = duration
    case .at(let date): base.earliestBeginDate = date
    case nil: break
    }
    let transfers = places.map { place in
      var transfer = base
      (transfer.url, transfer.method, transfer.to, transfer.file) = (place.url, place.method, place.to, place.file)
      return DefinedTransfer(transfer, delay: delay)
    }
    guard report.errorCount == errors else { return [] }
    for one in transfers {
      guard let problem = one.transfer.problems.first else { continue }
      report.error("\(field.label): \(problem)", at: field.keyPosition)
      break
    }
    return transfers
  }

  // MARK: From where to where

  private struct Place {
    var url: String
    var method: Transfer.Method
    var to: String?
    var file: String?
  }

  private mutating func places(_ fields: Fields) -> [Place] {
    let method = fields["method"].flatMap { choice($0, Transfer.Method.self) } ?? .get
    let (to, file) = (fields["to"].flatMap { path($0) }, fields["file"].flatMap { path($0) })
    if method == .get, let file = fields["file"] {
      report.error(
        "\(file.label) is for a transfer that sends; add 'method: put' or 'method: post'", at: file.keyPosition)
      return []
    }
    if method != .get {
      if let to = fields["to"] {
        report.error("\(to.label) is for a transfer that fetches; 'file' names what is sent", at: to.keyPosition)
      }
      guard fields["file"] != nil else {
        report.error("key 'work.transfer.file' is missing; it names the file to send", at: fields.position)
        return []
      }
    }
    if let urls = fields["urls"] { return several(urls, fields, method, to) }
    guard let field = fields["url"] else {
      report.error("key 'work.transfer.url' is missing; write url: https://example.com/a.csv", at: fields.position)
      return []
    }
    guard let url = address(field.value, label: field.label) else { return [] }
    if let items = fields["items"] { return each(items, fields, Place(url: url, method: method, to: to, file: file)) }
    return place(url, method, to, file, at: field).map { [$0] } ?? []
  }

  /// `urls`: each file gets its own name in the folder `to`.
  private mutating func several(
    _ field: Field, _ fields: Fields, _ method: Transfer.Method, _ folder: String?
  ) -> [Place] {
    for other in ["url", "items"].compactMap({ fields[$0] }) {
      report.error("\(other.label) and \(field.label) cannot both be there; remove one of them", at: other.keyPosition)
    }
    guard method == .get else {
      report.error(
        "\(field.label) is for files that are fetched; write 'url' and 'items' to send several", at: field.keyPosition)
      return []
    }
    guard let nodes = list(field, "a list such as [https://example.com/a.csv]") else { return [] }
    let end = folder.map { $0.hasSuffix("/") ? $0 : $0 + "/" }
    return nodes.compactMap { node in
      guard let url = address(node, label: "a value of \(field.label)") else { return nil }
      return place(url, method, end, nil, at: Field(label: field.label, keyPosition: node.position, value: node))
    }
  }

  /// `items`: a transfer for each item, which stands in place of `${item}`.
  private mutating func each(_ field: Field, _ fields: Fields, _ place: Place) -> [Place] {
    guard let nodes = list(field, "a list such as [a, b, c]") else { return [] }
    let (url, target) = (place.url, place.to ?? place.file ?? "")
    for (text, key) in [(url, "url"), (target, place.method == .get ? "to" : "file")] where !text.contains(Self.item) {
      if text.isEmpty { continue }
      report.error("'work.transfer.\(key)' needs \(Self.item), which stands for each item", at: field.keyPosition)
      return []
    }
    guard nodes.count <= Definition.Limits.transfers else {
      report.error(
        "\(field.label) has \(nodes.count) items; \(Definition.Limits.transfers) transfers are the most",
        at: field.value.position)
      return []
    }
    return nodes.compactMap { node in
      guard let item = literal(node, label: "a value of \(field.label)") else { return nil }
      return self.place(
        url.replacing(Self.item, with: item), place.method, place.to?.replacing(Self.item, with: item),
        place.file?.replacing(Self.item, with: item), at: fields["url"] ?? field)
    }
  }

  private static let item = "${item}"

  /// A place with the whole path of its file: the file gets the name in the URL if `to` is a folder or is not there.
  private mutating func place(
    _ url: String, _ method: Transfer.Method, _ to: String?, _ file: String?, at field: Field
  ) -> Place? {
    guard let address = WebAddress(url) else {
      guard url.contains("@") else { return refused(field, "an http or https URL such as https://example.com/a.csv") }
      report.error(
        "\(field.label) must have no user name and no password in it; write them in 'headers', with a secret of the host",
        at: field.value.position)
      return nil
    }
    guard method == .get else { return Place(url: url, method: method, file: file) }
    if let to, !to.hasSuffix("/") { return Place(url: url, method: method, to: to) }
    let name = address.path.prefix { $0 != "?" }.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    guard !name.isEmpty, Transfer.isPath(String(name)) else {
      report.error("\(field.label) ends in no name of a file; write one in 'to'", at: field.value.position)
      return nil
    }
    return Place(url: url, method: method, to: (to ?? "") + name)
  }

  private mutating func address(_ node: Node, label: String) -> String? {
    guard let text = literal(node, label: label) else { return nil }
    refuseWildcard(in: text, label: label, at: node.position)
    return text
  }

  // MARK: What it needs

  private mutating func readConditions(_ fields: Fields, into transfer: inout Transfer) {
    transfer.headers = headers(fields["headers"])
    transfer.sha256 = hash(fields["sha256"])
    transfer.size = integer(fields["size"], in: 0...Int.max).map(Int64.init)
    if let group = fields["group"].flatMap({ literal($0.value, label: $0.label) }) { transfer.group = group }
    transfer.isDiscretionary = flag(fields["discretionary"]) ?? false
    if let network = fields["network"].flatMap({ choice($0, NetworkRequirement.self) }) { transfer.network = network }
    transfer.allowsConstrained = flag(fields["allowsConstrained"]) ?? true
    let silence = duration(fields["requestTimeout"], in: Transfer.requestTimeouts)
    let whole = duration(fields["resourceTimeout"], in: Transfer.resourceTimeouts)
    transfer.requestTimeout = silence ?? transfer.requestTimeout
    transfer.resourceTimeout = whole ?? transfer.resourceTimeout
    transfer.isShared = flag(fields["shared"]) ?? false
    if transfer.isShared, let field = fields["shared"], !isAbsolute(fields["to"]) {
      report.error("\(field.label) needs an absolute path in 'to', which every host can reach", at: field.keyPosition)
    }
  }

  private func isAbsolute(_ field: Field?) -> Bool {
    if case .scalar(let scalar)? = field?.value.content { scalar.text.hasPrefix("/") } else { false }
  }

  private mutating func hash(_ field: Field?) -> String? {
    guard let field, let text = literal(field.value, label: field.label) else { return nil }
    guard text.utf8.count == 64, text.allSatisfy({ "0123456789abcdef".contains($0) }) else {
      return refused(field, "64 hexadecimal digits in lower case, as sha256sum prints them")
    }
    return text
  }

  private mutating func headers(_ field: Field?) -> [String: TransferHeader] {
    guard let field else { return [:] }
    guard case .mapping(let entries) = field.value.content else {
      refuse(field, "a mapping such as {Accept: text/csv}")
      return [:]
    }
    var headers: [String: TransferHeader] = [:]
    for entry in entries { headers[entry.key] = header(entry) }
    return headers
  }

  private mutating func header(_ entry: Node.Entry) -> TransferHeader? {
    let path = "work.transfer.headers.\(quoted(entry.key).dropFirst().dropLast())"
    guard case .mapping(let entries) = entry.value.content else {
      if refusesSecret(entry) { return nil }
      return literal(entry.value, label: "'\(path)'").map { TransferHeader($0) }
    }
    var fields = fields(entries, .transferHeader, missingAt: entry.keyPosition)
    for index in fields.inOrder.indices {
      fields.inOrder[index].field.label = "'\(path).\(fields.inOrder[index].key)'"
    }
    var header = TransferHeader(fields["text"].flatMap { literal($0.value, label: $0.label) } ?? "")
    header.secret = fields["secret"].flatMap { text($0) }
    header.variable = fields["variable"].flatMap { text($0) }
    if let secret = fields["secret"], let name = header.secret, !Secret.isFile(name) {
      return refused(secret, Secret.fileRule)
    }
    guard (fields["secret"] == nil) != (fields["variable"] == nil) else {
      report.error(
        "'\(path)' needs 'secret', the file of a secret of the host, or 'variable', a variable of the host, and not both",
        at: entry.keyPosition)
      return nil
    }
    return header
  }

  /// Whether the field has a secret in the definition itself, where everyone who may read the definition would see it.
  private mutating func refusesSecret(_ entry: Node.Entry) -> Bool {
    let name = entry.key.lowercased()
    guard ["authorization", "proxy-authorization", "cookie"].contains(name) || SecretName.isOne(entry.key) else {
      return false
    }
    report.hide(line: entry.keyPosition.line)
    report.error(
      "\(quoted(entry.key)) is a secret, and a definition never has the value of one: keep it in a file of the host, and "
        + "write \(entry.key): {text: \"Bearer \", secret: PATH}", at: entry.keyPosition)
    return true
  }
}
