/// The OpenTelemetry resource: attributes of the process that produces the spans and metrics. It is sent once per
/// request.
package struct Resource: OTLPMessage {
  /// The attributes in the order in which they are sent. Each key occurs once.
  package private(set) var attributes: [Attribute]

  /// Creates a resource. If two attributes have the same key, the later value is kept, at the place of the earlier one.
  package init(_ attributes: [Attribute]) {
    self.attributes = []
    for attribute in attributes { set(attribute) }
  }

  /// A copy in which `others` replace the attributes with the same keys. Attributes with new keys are appended.
  package func replacing(with others: [Attribute]) -> Resource { Resource(attributes + others) }

  /// The value of the attribute `key`; `nil` if there is no such attribute.
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
  /// The resource of one of Baton's processes. An attribute that the operator sets in the environment replaces Baton's
  /// own value.
  ///
  /// - Parameters:
  ///   - service: `baton-coordinator`, `baton-worker`, or `baton` if both run in one process.
  ///   - instance: an id that is unique to this run of the process.
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
