/// The version of this build, as `--version`, `hosts` and spans give it.
package enum BatonVersion {
  package static let current = "0.1.0"
}
