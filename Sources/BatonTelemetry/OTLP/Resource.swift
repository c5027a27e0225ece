/// What makes the spans and metrics of one process: the same for all of them.
package struct Resource: OTLPMessage {
  /// In this order, each key once.
  package private(set) var attributes: [Attribute]

  /// Of two attributes with one key the later one counts, at the place of the first.
  package init(_ attributes: [Attribute]) {
    self.attributes = []
    for attribute in attributes { set(attribute) }
  }

  /// The same, with `others` instead of, or after, those of its own.
  package func replacing(with others: [Attribute]) -> Resource { Resource(attributes + others) }

  /// Nil where it has no attribute `key`.
  package subscript(_ key: String) -> AttributeValue? { attributes.first { $0.key == key }?.value }

  private mutating func set(_ attribute: Attribute) {
    if let index = attributes.firstIndex(where: { $0.key == attribute.key }) {
      attributes[index] = attribute
    } else {
      attributes.append(attribute)
    }
  }
}

extension Resource {
  /// The attributes of a process of Baton. An attribute that the operator sets in the environment replaces Baton's own.
  ///
  /// - Parameters:
  ///   - service: `baton-coordinator`, `baton-worker`, or `baton` for both in one process.
  ///   - instance: unique to this run of the process.
  ///   - system: `linux` or `darwin`.
  package static func process(
    service: String, version: String, instance: String, host: String, system: String, process: Int64,
    settings: TelemetrySettings
  ) -> Resource {
    Resource([
      Attribute(Names.Resource.serviceName, .string(service)),
      Attribute(Names.Resource.serviceVersion, .string(version)),
      Attribute(Names.Resource.serviceInstance, .string(instance)),
      Attribute(Names.Resource.hostName, .string(host)),
      Attribute(Names.Resource.system, .string(system)),
      Attribute(Names.Resource.process, .int(process)),
    ]).replacing(with: settings.resourceAttributes)
  }
}
