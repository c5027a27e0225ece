import BatonAPI

extension Console {
  var definitionRoutes: [Route] { [] }
}
