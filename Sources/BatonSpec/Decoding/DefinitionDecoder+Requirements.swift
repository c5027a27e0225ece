import BatonModel

extension DefinitionDecoder {
  mutating func readRequirements(_ fields: Fields, into definition: inout Definition) {
    definition.requirements.externalPower = flag(fields["requiresExternalPower"]) ?? false
    definition.requirements.network = network(fields)
    definition.requirements.gpu = gpu(fields)
    if let requiresIdle = flag(fields["requiresIdle"]) { definition.requirements.requiresIdle = requiresIdle }
    if let slots = integer(fields["slots"], in: Definition.Limits.slots) { definition.requirements.slots = slots }
    definition.requirements.labels = labels(fields["requiredLabels"])
    definition.requirements.preferredLabels = preferredLabels(fields["preferredLabels"])
  }

  private mutating func network(_ fields: Fields) -> NetworkRequirement? {
    let isRequired = flag(fields["requiresNetworkConnectivity"])
    let network = fields["network"].flatMap { choice($0, NetworkRequirement.self) }
    if isRequired == false, network != nil, let field = fields["requiresNetworkConnectivity"] {
      report.error(
        "'requiresNetworkConnectivity: false' contradicts 'network'; remove one of them", at: field.keyPosition)
    }
    return network ?? (isRequired == true ? .any : nil)
  }

  /// The required labels; `nil` if there are no labels.
  private mutating func labels(_ field: Field?) -> [String: String]? {
    guard let field else { return nil }
    guard case .mapping(let entries) = field.value.content, entries.count <= Label.maximumCount else {
      refuse(field, "a mapping of at most \(Label.maximumCount) labels, such as {zone: garage}")
      return nil
    }
    var labels: [String: String] = [:]
    for entry in entries { labels[entry.key] = label(entry, of: "requiredLabels", entry.value) }
    return labels.isEmpty ? nil : labels
  }

  /// The preferred labels; `nil` if there are none. A label is a value, or a mapping of a value and its weight.
  private mutating func preferredLabels(_ field: Field?) -> [String: PreferredLabel]? {
    guard let field else { return nil }
    guard case .mapping(let entries) = field.value.content, entries.count <= Label.maximumCount else {
      refuse(field, "a mapping of at most \(Label.maximumCount) labels, such as {disk: {value: nvme, weight: 10}}")
      return nil
    }
    var labels: [String: PreferredLabel] = [:]
    for entry in entries { labels[entry.key] = preferredLabel(entry) }
    return labels.isEmpty ? nil : labels
  }

  private mutating func preferredLabel(_ entry: Node.Entry) -> PreferredLabel? {
    guard case .mapping(let entries) = entry.value.content else {
      return label(entry, of: "preferredLabels", entry.value).map { PreferredLabel($0) }
    }
    var fields = fields(entries, .preferredLabel, missingAt: entry.keyPosition)
    let path = "preferredLabels.\(quoted(entry.key).dropFirst().dropLast())"
    for index in fields.inOrder.indices {
      fields.inOrder[index].field.label = "'\(path).\(fields.inOrder[index].key)'"
    }
    guard let value = fields["value"] else {
      report.error(
        "key '\(path).value' is missing; it is the value that the label had better have", at: fields.position)
      return nil
    }
    let weight = integer(fields["weight"], in: Definition.Limits.labelWeight) ?? 1
    return label(entry, of: "preferredLabels", value.value).map { PreferredLabel($0, weight: weight) }
  }

  /// Reads the value of a label, and reports what is wrong with its name and its value.
  private mutating func label(_ entry: Node.Entry, of key: String, _ node: Node) -> String? {
    if !Label.isName(entry.key) {
      report.error(
        "\(quoted(entry.key)) cannot be a label: letters, digits, '-', '_' and '.', at most \(Label.maximumNameBytes)",
        at: entry.keyPosition)
    }
    let label = "'\(key).\(quoted(entry.key).dropFirst())"
    guard let value = literal(node, label: label) else { return nil }
    if !Label.isValue(value) {
      report.error("\(label) must be one line of at most \(Label.maximumValueBytes) bytes", at: node.position)
    }
    return value
  }

  private mutating func gpu(_ fields: Fields) -> GPURequirement? {
    let isListed = listsGPU(fields["requiredResources"])
    guard let field = fields["gpu"] else { return isListed == true ? GPURequirement() : nil }
    if isListed == false {
      report.error("'gpu' contradicts 'requiredResources' without gpu; remove one of them", at: field.keyPosition)
    }
    guard let gpu = mapping(field, .gpu, example: "{count: 1, memory: 8GiB}") else { return nil }
    return GPURequirement(
      count: integer(gpu["count"], in: Definition.Limits.gpus) ?? 1,
      memoryBytes: parsed(gpu["memory"], SizeText.examples, SizeText.parse))
  }

  /// Whether `requiredResources` lists `gpu`; `nil` if the key is absent or is not a list.
  private mutating func listsGPU(_ field: Field?) -> Bool? {
    guard let field, let nodes = list(field, "a list such as [gpu]") else { return nil }
    var isListed = false
    for node in nodes {
      if case .scalar(let scalar) = node.content, scalar.text == "gpu" {
        if isListed { report.error("'gpu' is listed twice; write gpu: {count: 2} for two", at: node.position) }
        isListed = true
      } else if !node.isRefused {
        report.error("\(field.label) knows only 'gpu', not \(node.summary)", at: node.position)
      }
    }
    return isListed
  }
}
