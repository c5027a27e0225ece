import BatonModel

extension DefinitionDecoder {
  /// Reads `notify`: who is told of what. The coordinator knows which receivers there are.
  mutating func notify(_ field: Field?) -> NotifyRule? {
    guard let field, let fields = mapping(field, .notify, example: "{failure: [ops]}") else { return nil }
    var rule = NotifyRule()
    for kind in NotificationKind.keys where kind != .waits { rule[kind] = receivers(fields[kind.rawValue]) }
    rule.waits = patience(fields["waits"])
    if Level.notify.keys.allSatisfy({ fields[$0] == nil }) {
      report.error("\(field.label) tells nothing; write notify: {failure: [ops]}", at: field.value.position)
    }
    return rule
  }

  private mutating func patience(_ field: Field?) -> NotifyRule.Patience? {
    guard let field, let fields = mapping(field, .patience, example: "{after: 1h, to: [ops]}") else { return nil }
    for key in ["after", "to"] where fields[key] == nil {
      report.error("key 'notify.waits.\(key)' is missing; write waits: {after: 1h, to: [ops]}", at: field.keyPosition)
    }
    let (after, told) = (duration(fields["after"], in: NotifyRule.patience), receivers(fields["to"]))
    guard let after, let told else { return nil }
    return NotifyRule.Patience(after: after, to: told)
  }

  /// The names in a list; `nil` if there is no list.
  private mutating func receivers(_ field: Field?) -> [ReceiverName]? {
    guard let field, let nodes = list(field, "a list of receivers of coordinator.yaml such as [ops]") else {
      return nil
    }
    guard NotifyRule.receivers.contains(nodes.count) else {
      report.error(
        "\(field.label) has \(nodes.count) receivers; a list has 1 to \(NotifyRule.receivers.upperBound)",
        at: field.value.position)
      return nil
    }
    var names: [ReceiverName] = []
    for node in nodes {
      guard let text = literal(node, label: "a value of \(field.label)") else { continue }
      guard let name = ReceiverName(text) else {
        report.error(
          "\(quoted(text)) in \(field.label) is no name of a receiver, which is \(ReceiverName.rule); "
            + "coordinator.yaml has the addresses", at: node.position)
        continue
      }
      if names.contains(name) {
        report.error("\(field.label) has \(quoted(text)) twice; remove one of them", at: node.position)
      }
      names.append(name)
    }
    return names
  }
}
