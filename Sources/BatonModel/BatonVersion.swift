/// The version of this build: `--version` and `baton hosts` print it, and spans carry it.
package enum BatonVersion {
  package static let current = "0.1.0"
}
